from absl import app, flags

from dump import dump

_WORKDIR = flags.DEFINE_string("workdir", None, "Folder of the weights.", required=True)
_STEPS = flags.DEFINE_integer("steps", 1000, "Updates.")
_DEPTH = flags.DEFINE_integer("depth", 12, "Blocks.")
_METRIC = flags.DEFINE_multi_string("metric", ["acc"], "Metrics to print; may be repeated.")


def main(words):
    dump({"workdir": _WORKDIR.value, "steps": _STEPS.value, "depth": _DEPTH.value,
          "metric": _METRIC.value, "rest": words[1:]})


if __name__ == "__main__":
    app.run(main)
