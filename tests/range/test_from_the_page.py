"""A whole run in a browser: written and started there, watched to its end, and looked at."""

from __future__ import annotations

from playwright.sync_api import Browser, Page, expect

from tests.embedded import EmbeddedRange
from tests.pages.conftest import browser, opened
from tests.pages.test_editor import write
from tests.range.conftest import PATIENCE, Controller, scenario

__all__ = ["browser"]

CHANGES = {"seeds": [3], "schedule": {"epochs": 3}, "defences": {"none": [], "label-only": ["argmax"]}}
TEXT = scenario("from-the-page", **CHANGES)

REMEMBER = """() => {
  window.seen = [];
  const note = () => {
    const states = [...document.querySelectorAll("[data-cell]")].map((cell) => cell.dataset.state).join(" ");
    const models = document.querySelector("[data-text='trainers.total']").textContent;
    const last = window.seen.at(-1);
    if (last?.states !== states || last.models !== models) window.seen.push({states, models});
  };
  note();
  const everything = {subtree: true, childList: true, characterData: true, attributes: true};
  new MutationObserver(note).observe(document.body, everything);
}"""
"""Keeps every state of the picture, as it shows."""


def begun(tab: Page, key: str) -> None:
    """Write the scenario, and start it as the operator."""
    tab.get_by_label("Key").fill(key)
    tab.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(tab.locator(".gutter span").first).to_have_text("1")
    write(tab, TEXT)
    expect(tab.get_by_role("heading", name="No mistakes")).to_be_visible()
    tab.get_by_role("button", name="Start the run").click()
    expect(tab.get_by_role("heading", level=1)).to_have_text("from-the-page")


def test_a_run_is_started_watched_and_looked_at(
    browser: Browser, embedded_range: EmbeddedRange, controller: Controller
) -> None:
    record = embedded_range.record
    with opened(browser, f"{record.controller}/login?after=/scenarios/new") as tab:
        begun(tab, record.operator_key)
        run = tab.url.rpartition("/")[2]
        tab.evaluate(REMEMBER)
        expect(tab.locator("[data-step=parties]")).to_contain_text("1 is curious")
        expect(tab.locator("[data-chip]")).to_have_text("finished", timeout=PATIENCE * 1000)
        heading = tab.get_by_role("heading", name="What was found", exact=True)
        expect(heading).to_be_visible()  # without a reload
        results = controller.ask("GET", f"/v1/runs/{run}/results").json()
        seen = tab.evaluate("window.seen")
        assert seen[0]["states"].split() == ["queued"] * 4
        assert seen[-1]["states"].split() == ["done"] * 4
        assert any("running" in each["states"] for each in seen)
        assert [int(each["models"][0]) for each in (seen[0], seen[-1])] == [0, 2]

        # What the picture ends with is what the proxy's ledger and the results say.
        spent = {account["name"]: account["spent"] for account in results["ledger"]}
        for holder, side in (("users", "users"), ("attacker", "attackers")):
            own = sum(amount for name, amount in spent.items() if name.startswith(f"{run}.{holder}."))
            expect(tab.locator(f"[data-text='budget.{side}']")).to_contain_text(f"{own:,} of {own:,} samples")
        inside = next(
            each for each in results["trials"] if each["id"] == "curious-s3.none.inside.unaware.b192"
        )
        curious = tab.locator(".row", has_text="curious").locator("li", has_text="no defence")
        expect(curious).to_contain_text(f"{inside['metrics']['auc']['value']:.3f}")
        sentence = tab.locator("#found .answer p").first.inner_text()

        tab.get_by_role("link", name="Leak board").first.click()
        expect(tab.get_by_role("main")).to_contain_text(sentence)
        tab.go_back()
        expect(tab.get_by_role("heading", name="What was found")).to_be_visible()
        tab.get_by_role("link", name="Read the report").click()
        expect(tab.locator("body")).to_contain_text(sentence)
