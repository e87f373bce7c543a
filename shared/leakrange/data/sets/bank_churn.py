"""Bank churn, the customers of a bank, packed or as published."""

from __future__ import annotations

from pathlib import Path

from leakrange.data.catalogue import Content, datasets
from leakrange.data.placed import PlacedSet
from leakrange.data.samples import Attribute, by_name
from leakrange.data.tables import Quantity, classes_of, encode, read_csv, same_rows, table

__all__ = ["BankChurn"]

COUNTRIES = ("France", "Germany", "Spain")
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
COLUMNS = (*(column.name for column in INPUTS), "Gender", "Geography", "Exited")


@datasets.register("bank_churn")
class BankChurn(PlacedSet):
    """10,000 customers of a bank: did they leave? A sample holds neither gender nor country."""

    name = folder = "bank_churn"
    description = "10,000 customers of a bank, who stayed or left; gender and country hidden"
    attributes = by_name(
        Attribute("exited", ("stayed", "left"), "whether the customer left the bank"),
        Attribute("gender", ("female", "male")),
        Attribute("geography", COUNTRIES, "the customer's country"),
    )
    spec = table(INPUTS)
    source = "Churn_Modelling.csv, a table that circulates widely; no licence stated, origin undocumented"
    notes = (
        "probably simulated: good for comparing methods, not for claims about people",
        "no official split: 20 % test, drawn with the data seed",
        "samples hold neither gender nor country: both are hidden",
        "quantities are standardised by constants, the mean and deviation of all rows",
    )
    layouts = (("bank_churn.csv.gz",), ("Churn_Modelling.csv",))

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The customers in the file's order."""
        columns = read_csv(paths[0], COLUMNS)
        return Content(
            values=encode(INPUTS, columns),
            labels={
                "exited": classes_of("Exited", columns["Exited"], ("0", "1")),
                "gender": classes_of("Gender", columns["Gender"], ("Female", "Male")),
                "geography": classes_of("Geography", columns["Geography"], COUNTRIES),
            },
            group=same_rows(columns, COLUMNS),
        )
