"""How figures, tables and sentences describe the designs that this project reports on."""

from ablations.question.story import STORIES, Mark, Panels, Phrases, Story

ON_TOP = ("with this trick", "without it", "the other arms")


def on_top(what: str, mark: Mark, curves: str, rank: int) -> Story:
    """The story of a design that adds each of its tricks to its first arm."""
    panels = Panels(f"From {{first}}{what}", ON_TOP)
    return Story(panels, mark, Phrases(base=True, question="on top of {first}", curves=curves), rank)


BEYOND = ", what goes beyond the ladder"
STORIES |= {
    "ladder": Story(
        Panels(
            "From {first} up, one trick at a time",
            ("this rung, with all before it", "the rung before", "all other rungs"),
        ),
        Mark("D", "◇", "on the rung before"),
        Phrases(
            climb="the ladder takes the area under the curve from {first} to {last}. Detected among its {steps}: "
            "{seen}.",
            question="as the next rung",
            curves=", ladder",
        ),
        rank=2,
    ),
    "leave-one-out": Story(
        Panels("All tricks, and without each one", ("without this trick", "with all tricks", "without another one")),
        Mark("s", "□", "in the full set"),
        Phrases(
            detected="when {a_trick} is taken out of the full set, with what needs it: {up} missed, "
            "{down} better left out",
            place="taken out of the full set",
            nowhere="when taken out",
            question="taken out of everything",
        ),
        rank=1,
    ),
    "add-one-in": Story(
        Panels(
            "REINFORCE, and each trick added to it alone",
            ("this trick, on what it needs", "what it needs", "other tricks"),
        ),
        Mark("o", "○", "alone, on what it needs"),
        Phrases(
            detected="when {a_trick} is alone: {up} helping, {down} hurting",
            place="alone",
            nowhere="alone",
            question="alone, on REINFORCE",
            question_with="alone, on {others}",
        ),
    ),
    "presets": on_top(" to ppo", Mark("h", "⬡", "between CleanRL's set and ppo"), ", presets", 3),
    "language": Story(
        Panels("From REINFORCE to GRPO, one trick at a time, and around it", ON_TOP),
        Mark("d", "◆", "from REINFORCE to GRPO"),
        Phrases(
            detected="from REINFORCE to GRPO's flags, in them, and on top of them: {up} helping, {down} hurting",
            place="from REINFORCE to GRPO's flags, in them, or on top of them",
            nowhere="there",
            question="from REINFORCE to GRPO",
            curves=", language",
        ),
        rank=8,
        around="grpo",
    ),
    "published": Story(published=True),
    "continuous": Story(published=True),
    "around-continuous": Story(
        Panels("The preset continuous, without each of its tricks and with each other one", ON_TOP),
        Mark("X", "✖", "in or on top of the preset continuous"),
        Phrases(
            detected="in `continuous` (taken out with what needs it) or on top of it: {up} helping, {down} hurting",
            place="in or on top of `continuous`",
            nowhere="there",
            question="in or on top of `continuous`",
            curves="",
        ),
        rank=7,
        around="continuous",
    ),
    "beyond": on_top(BEYOND, Mark("v", "▽", "on a preset, with what it needs"), "", 4),
    "beyond-raw": on_top(BEYOND, Mark("^", "△", "on PPO without return_norm"), ", raw returns", 5),
    "scales": on_top(
        ", ways to handle rewards of different sizes", Mark("P", "✚", "on CleanRL's set, large rewards"), ", scales", 6
    ),
}
