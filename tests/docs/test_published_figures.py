"""Figures of experts and bundled agents are those of the leaderboard wherever they stand."""

import re

import pytest

from tests.docs.pages import ROOT, cells

IDS_OF_DAXBENCH = {
    "Fold-Cloth-1": "PBDClothFold-v0", "Fold-T-shirt": "PBDTShirtFold-v0", "Unfold-Cloth-1": "PBDClothUnfold-v0",
    "Unfold-Cloth-3": "PBDClothUnfold-v0", "Push-Rope": "PBDRopePush-v0", "Whip-Rope": "PBDRopeWhip-v0",
    "Pour-Water": "PBDPourWater-v0", "Pour-Soup": "PBDPourSoup-v0",
}  # fmt: skip


def table(page: str, begins: str) -> list[list[str]]:
    """Return the cells of the table on a page in docs whose first line begins so, without its head."""
    lines = (ROOT / "docs" / page).read_text().split(f"\n| {begins} |", 1)[1].splitlines()[2:]
    rows = [cells(line) for line in lines[: lines.index("")] if line.startswith("|")]
    return [[cell.strip("`") for cell in row] for row in rows]


@pytest.fixture(scope="module")
def board() -> dict[tuple[str, str], tuple[str, str]]:
    """Interquartile mean and success in percent, by id and policy."""
    lines = (ROOT / "docs" / "results" / "leaderboard.md").read_text().splitlines()
    rows = [cells(line) for line in lines if line.startswith("| `PBD")]  # bundled agents have a table of their own
    return {(row[0].strip("`"), row[1]): (row[3], row[2].removesuffix("%")) for row in rows}


def test_bundled_agents(board: dict[tuple[str, str], tuple[str, str]]) -> None:
    rows = table("agents.md", "id | success [%] | normalized performance | trained by")
    found = {(row[0], "trained"): (row[2], row[1]) for row in rows}
    assert found == {key: figures for key, figures in board.items() if key[1] == "trained"}


def test_tasks_of_softgym(board: dict[tuple[str, str], tuple[str, str]]) -> None:
    for row in table("lab/published.md", "SoftGym"):
        for policy, cell in (("trained", row[4]), ("expert", row[5])):
            figures = board.get((row[1], policy))
            assert cell == ("\N{EN DASH}" if figures is None else f"{figures[0]} ({figures[1]} %)"), row


def test_tasks_of_daxbench(board: dict[tuple[str, str], tuple[str, str]]) -> None:
    for row in table("lab/published.md", "task | Transporter"):
        env_id = IDS_OF_DAXBENCH[row[0]]
        assert row[-1] == ", ".join(board[env_id, policy][0] for policy in ("trained", "expert")), row


def test_tasks_of_dmfd(board: dict[tuple[str, str], tuple[str, str]]) -> None:
    ids = {
        "straighten": "PBDRopeStraighten-v0",
        "cloth fold": "PBDClothFold-v0",
        "fold diagonal": "PBDClothFoldDiagonal-v0",
    }
    for row in table("lab/published.md", "task | steps"):
        env_id = next(env_id for name, env_id in ids.items() if row[0].startswith(name))
        policy = "pixels" if env_id == "PBDClothFold-v0" and "image" in row[0] else "trained"
        for cell, who in ((row[-2], policy), (row[-1], "expert")):
            if match := re.match(r"([\d.]+) \((\d+) %\)", cell):
                assert match.groups() == board[env_id, who], row
