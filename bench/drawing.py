"""Runs a script that draws, in an environment that has matplotlib: SCRIPT RESULTS.json MACHINE DIRECTORY, or other words."""

import commands
import competitors


def draw(script, work, key, environments):
    """The plots of this machine in `work` anew; with no script none are left."""
    for old in work.glob(f"*-{key}.svg"):
        old.unlink()
    if script is not None:
        run(script, (work / "results.json", key, work), environments)


def run(script, words, environments):
    directory = environments / "matplotlib"
    try:
        competitors.python_environment("matplotlib", directory)
    except competitors.Unavailable as reason:
        commands.say(f"no plots: {reason}")
        return
    done = commands.run((directory / "bin" / "python", script, *words), commands.clean_environment(), 120, "drawing")
    commands.say(f"no plots: {done.why()}" if done.code else f"{len(done.out.split())} plots: {words[-1]}/*.svg")
