"""Short films of CartPole agents: one for each rung, and one for each planted bug. `python -m chapters clips`."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image

from chapters.book.build import CHAPTERS
from chapters.book.figures import at_best_rate
from chapters.book.trainings import planted
from chapters.exercises import baseline, clip, gae, reinforce, reuse, segments
from tricks import REINFORCE, Config, Tricks, train
from tricks.ladder import LADDER, named
from tricks.runs.film import Film, filmed

FOLDER = CHAPTERS / "clips"
LENGTHS = FOLDER / "lengths.json"
SIZE, FRAMES, COLORS = (240, 160), 100, 16
BUDGET = 30_000  # steps of training, at which the rungs still differ
BUGS: dict[str, dict[str, Callable]] = {  # of a trick: the function of the loop, and the chapter's wrong version of it
    "reinforce": {"reward_to_go": reinforce.returns_backward},
    "baseline": {"squared_error": baseline.row_error},
    "reuse": {"importance_ratio": reuse.ratio_in_place},
    "clip": {"clipped_surrogate": clip.short_surrogate},
    "gae": {"gae": gae.surprising_advantages},
    "segments": {"play_segment": segments.play_rows},
}


def clips() -> Iterator[tuple[str, Tricks, dict[str, Callable]]]:
    """All films: `clip`, and with its bug `clip_bug`; the tricks and the faults of each."""
    for name in ("reinforce", *LADDER):
        tricks = replace(REINFORCE if name == "reinforce" else named(name), action_mask=False)  # CartPole has no masks
        yield name, tricks, {}
        if name in BUGS:
            yield f"{name}_bug", tricks, BUGS[name]


def film(tricks: Tricks, faults: dict[str, Callable]) -> Film:
    """Train an agent for BUDGET steps, and film one episode."""
    config = replace(at_best_rate(Config(seeds=1), tricks), steps=BUDGET)
    with planted(**faults):
        run = train(config, tricks)
    made, _ = filmed(run, greedy=False)
    assert made is not None
    return made


def write(made: Film, path: Path) -> None:
    """Write a small animated picture: at most FRAMES frames of the start of the episode."""
    frames = [frame.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS) for frame in made.frames[:FRAMES]]
    flat = [frame.quantize(COLORS, dither=Image.Dither.NONE) for frame in frames]
    box = io.BytesIO()
    flat[0].save(box, "GIF", save_all=True, append_images=flat[1:], duration=40, loop=0)
    path.write_bytes(box.getvalue())


def main() -> int:
    """Make every film. Returns the exit status."""
    FOLDER.mkdir(exist_ok=True)
    lengths = {}
    for name, tricks, faults in clips():
        made = film(tricks, faults)
        lengths[name] = made.steps
        write(made, FOLDER / f"{name}.gif")
        print(f"{name}: an episode of {lengths[name]} steps")
    LENGTHS.write_text(json.dumps(lengths, indent=1) + "\n", encoding="utf-8")
    return 0


def figure(name: str) -> str:
    """A film in a page of the site, with a caption; empty if there is none of this name."""
    if not LENGTHS.exists() or name not in (lengths := json.loads(LENGTHS.read_text(encoding="utf-8"))):
        return ""
    who = "The same with the bug of this exercise" if name.endswith("_bug") else "An agent at this rung"
    said = f"{who}, after {BUDGET:,} steps of training. This episode lasted {lengths[name]} steps (500 is the limit)."
    picture = f'<img src="../_static/clips/{name}.gif" alt="a cart with a pole" loading="lazy">'
    return f'```{{raw}} html\n<figure class="clip">{picture}<figcaption>{said}</figcaption></figure>\n```'
