"""Studies survive a round trip, and give way to more seeds only."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.studies import study

from ablations.analysis.scales import SCALES
from ablations.analysis.study_files import load, refuse_another, save
from ablations.design.designs import ladder
from tricks import Config, InputError

SCALE = SCALES["CartPole-v1"]


def test_a_study_is_read_back_as_it_was_saved_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    design = ladder(["baseline", "entropy"])
    made = study(design, lambda on: 1 / 3)
    saved, path = save(made, tmp_path)
    assert saved.designs == (design,)
    assert saved.runs.late[0] == 100.33
    again, _ = save(saved, tmp_path)
    pd.testing.assert_frame_equal(again.runs, saved.runs)
    assert saved.runs.tricks[0] == ""  # not NaN
    whole = path.read_bytes()
    told = gzip.decompress(whole).replace(b'"command"', b'"comment"')
    first, rest = gzip.decompress(whole).split(b"\n", 1)
    about = json.loads(first[2:])
    del about["sha256"]
    about["designs"] = [["ladder", ["separate_optimizers", "shared_trunk"]]]
    impossible = gzip.compress(b"# " + json.dumps(about).encode() + b"\n" + rest)  # the two exclude each other
    torn = (whole[: len(whole) // 2], whole[:90] + bytes(20) + whole[110:], b"", b"x")
    for damage in (*torn, gzip.compress(told), impossible):
        path.write_bytes(damage)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))} is damaged or not a run file"):
            load(path)
    with pytest.raises(InputError, match="nothing"):
        load(tmp_path / "nothing")


def test_what_is_stored_gives_way_to_more_seeds_and_to_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design = ladder(["baseline"])
    few, many = (study(design, lambda on: 0, seeds=seeds) for seeds in (5, 8))
    _, path = save(few, tmp_path)
    save(many, tmp_path)
    assert capsys.readouterr().out == ""
    asked, _ = save(few, tmp_path)
    assert capsys.readouterr().out == f"kept {path}, which has seeds 0 to 7\n"
    assert (len(asked.runs), len(load(path).runs)) == (10, 16)
    refuse_another(path, Config())
    refuse_another(tmp_path / "nothing", Config(gamma=0.9))
    refuse_another(path, Config(), [arm.tricks for arm in design.arms])
    with pytest.raises(InputError, match="holds another study, with arms that this one lacks; choose another --out"):
        refuse_another(path, Config(), [arm.tricks for arm in design.arms[:-1]])
    with pytest.raises(
        InputError, match="holds another study, with the usual numbers, backend auto; choose another --"
    ):
        refuse_another(path, Config(gamma=0.9))
    save(replace(many, about=many.about | {"made with": {"backend": ["gymnasium"]}}), tmp_path)
    with pytest.raises(InputError, match="with the usual numbers, backend gymnasium; choose another --out"):
        refuse_another(path, Config())
    path.write_bytes(b"x")
    refuse_another(path, Config(gamma=0.9))  # what is damaged is no loss
    save(few, tmp_path)
    assert len(load(path).runs) == 10
