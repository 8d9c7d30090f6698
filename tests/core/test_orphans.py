"""A worker process ends with its parent, even if nobody could tell it to."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.commands import alive, until

SCRIPT = """
import multiprocessing, os, signal, sys, time
sys.path.insert(0, {root!r})
from tricks.core.machine import follow_parent

def work(path, patience, hears):
    def leave(*_):
        open(path, "a").write("left")
        if hears:
            sys.exit()
    signal.signal(signal.SIGTERM, leave)
    follow_parent(patience)
    os.write(1, b"%d\\n" % os.getpid())  # in one piece, beside the other worker's
    time.sleep(60)
    time.sleep(60)

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    for _ in range(2):
        context.Process(target=work, args=({path!r}, {patience}, {hears})).start()
    context.Process(target=time.sleep, args=(15,)).start()  # if forked, it holds the pipes of the others open
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as Unix has them")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize(
    ("patience", "hears", "said"),
    [(0, True, ""), (30, True, "leftleft"), (2, False, "leftleft")],
    ids=["at once", "after cleaning up", "and if it does not listen"],
)
def test_workers_of_a_killed_parent_end(method: str, patience: float, hears: bool, said: str, tmp_path: Path) -> None:
    script, note, root = tmp_path / "script.py", tmp_path / "note", str(Path(__file__).parents[2])
    script.write_text(SCRIPT.format(root=root, method=method, path=str(note), patience=patience, hears=hears))
    note.touch()
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [psutil.Process(int(parent.stdout.readline())) for _ in range(2)]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    until(lambda: not any(map(alive, workers)), seconds=10)
    assert note.read_text() == said
