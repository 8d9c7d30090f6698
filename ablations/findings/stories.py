"""How figures, tables and sentences describe the designs that this project reports on."""

from ablations.question.story import STORIES, Mark, Panels, Phrases, Story

ON_TOP = ("with this trick", "without it", "the other arms")
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
    "presets": Story(
        Panels("From {first} to ppo", ON_TOP),
        Mark("h", "⬡", "in what CleanRL does"),
        Phrases(base=True, question="on top of {first}", curves=", presets"),
        rank=3,
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
    "beyond": Story(
        Panels("From {first}, what goes beyond the ladder", ON_TOP),
        Mark("v", "▽", "on a preset, with what it needs"),
        Phrases(base=True, question="on top of {first}", curves=""),
        rank=4,
    ),
    "beyond-raw": Story(
        Panels("From {first}, what goes beyond the ladder", ON_TOP),
        Mark("^", "△", "on PPO without return_norm"),
        Phrases(base=True, question="on top of {first}", curves=", raw returns"),
        rank=5,
    ),
    "beyond-normed": Story(  # of stored studies, until they are trained again
        Panels("From {first}, what goes beyond the ladder", ON_TOP),
        Mark("^", "△", "on cleanrl with return_norm"),
        Phrases(base=True, question="on top of {first}", curves=", return_norm"),
        rank=5,
    ),
    "scales": Story(
        Panels("From {first}, ways to handle rewards of different sizes", ON_TOP),
        Mark("P", "✚", "against large rewards"),
        Phrases(base=True, question="on top of {first}", curves=", scales"),
        rank=6,
    ),
}
