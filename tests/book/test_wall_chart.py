"""The wall chart says what the package and the chapter on diagnostics say."""

from pathlib import Path

from chapters.book.site.wall_chart import _plain, described, numbers, tables_of_diagnostics, wall_chart
from tricks import Config


def test_the_numbers_are_the_defaults_of_ppo() -> None:
    found = {name: value for name, value, _ in numbers()}
    assert found["clip_range"] == str(Config.clip_range)
    assert "return_beta" not in found  # PPO does not normalize returns
    assert all(text for _, _, text in numbers())


def test_what_a_number_is_is_the_first_sentence_about_it() -> None:
    assert described()["gamma"] == "Discount γ"
    assert described()["epochs"] == "Passes over each batch"
    assert described()["lanes"] == "N: parallel environments per seed"


def test_the_tables_are_those_of_the_chapter() -> None:
    sound, symptoms = tables_of_diagnostics()
    assert [row[0] for row in sound[1:]][:2] == ["approx_kl", "clip_fraction"]
    assert symptoms[0] == ("symptom", "look for")
    assert len(symptoms) > 6
    assert not any("$" in cell or "`" in cell for row in (*sound, *symptoms) for cell in row)


def test_a_cell_loses_its_marks() -> None:
    assert _plain(r" `entropy` stays at $\log A$ ") == "entropy stays at log A"
    assert _plain(r"ratio $\pi/\pi_\text{old}$ of `max_grad_norm`") == "ratio π/πold of max_grad_norm"


def test_the_chart_is_one_page_of_pdf(tmp_path: Path) -> None:
    wall_chart(tmp_path / "chart.pdf")
    written = (tmp_path / "chart.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert written.count(b"/Type /Page ") == 1
