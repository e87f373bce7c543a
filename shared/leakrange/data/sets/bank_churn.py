"""Bank churn, the customers of a bank, packed or as published."""

from __future__ import annotations

from leakrange.data.catalogue import datasets
from leakrange.data.columns import Coded
from leakrange.data.samples import by_name
from leakrange.data.tables import Quantity, TableSet, table

__all__ = ["BankChurn"]

INPUTS = (
    Quantity("CreditScore", 650.52880, 96.64847),
    Quantity("Age", 38.92180, 10.48728),
    Quantity("Tenure", 5.01280, 2.89203),
    Quantity("Balance", 76485.88929, 62394.28525),
    Quantity("NumOfProducts", 1.53020, 0.58163),
    Quantity("HasCrCard", 0.70550, 0.45582),
    Quantity("IsActiveMember", 0.51510, 0.49977),
    Quantity("EstimatedSalary", 100090.23988, 57507.61722),
)


@datasets.register("bank_churn")
class BankChurn(TableSet):
    """10,000 customers of a bank: did they leave? A sample holds neither gender nor country."""

    name = folder = "bank_churn"
    description = "10,000 customers of a bank, who stayed or left; gender and country hidden"
    attributes = by_name(
        Coded(
            "exited",
            ("stayed", "left"),
            "whether the customer left the bank",
            column="Exited",
            codes=("0", "1"),
        ),
        Coded("gender", ("female", "male"), column="Gender", codes=("Female", "Male")),
        Coded("geography", ("France", "Germany", "Spain"), "the customer's country", column="Geography"),
    )
    inputs = INPUTS
    spec = table(INPUTS)
    source = "Churn_Modelling.csv, a table that circulates widely; no licence stated, origin undocumented"
    notes = (
        "probably simulated: good for comparing methods, not for claims about people",
        "no official split: 20 % test, drawn with the data seed",
        "samples hold neither gender nor country: both are hidden",
        "quantities are standardised by constants, the mean and deviation of all rows",
    )
    layouts = (("bank_churn.csv.gz",), ("Churn_Modelling.csv",))
