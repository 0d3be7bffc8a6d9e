from absl import app, flags

from dump import dump

FLAGS = flags.FLAGS
flags.DEFINE_float("learning_rate", 0.001, "Rate of the first step.")
flags.DEFINE_integer("batch_size", 128, "Batch size (default: 64).", lower_bound=1)
flags.DEFINE_bool("augment", True, "Augment the images.")
flags.DEFINE_boolean("use_tpu", False, "Run on TPUs.")
flags.DEFINE_list("hidden", ["100"], "Units of the hidden layers.")
flags.DEFINE_enum("optimizer", "sgd", ["sgd", "adam"], "Optimizer.")
flags.DEFINE_string("model_dir", None, "Where to write.")


def main(words):
    names = ("learning_rate", "batch_size", "augment", "use_tpu", "hidden", "optimizer",
             "model_dir")
    dump({**{name: FLAGS[name].value for name in names}, "rest": words[1:]})


app.run(main)
