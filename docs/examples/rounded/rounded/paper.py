from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from leakrange.papers import papers
from leakrange.papers.cells import mean_text
from leakrange.papers.paper import Measured, Paper, PaperSettings
from leakrange.papers.sheet import read_sheet
from leakrange.papers.targets import PaperRow


class RoundedSettings(PaperSettings):
    data: str = "digits"
    epochs: Annotated[int, Field(ge=1)] = 20


@papers.register("rounded")
class Rounded(Paper):
    sheet = read_sheet(__package__)
    Settings = RoundedSettings

    def names(self, row: PaperRow) -> Mapping[str, Any]:
        return {"rounding": f"{row['decimals']} decimals" if row["decimals"] else "none"}

    def note(self, row: PaperRow, measured: Measured) -> list[str]:
        return [mean_text(measured[row], "majority")] if row.table == "2" else []
