"""loguru's default format with colours and levels."""
STREAM = "stderr"
LOG = """
\x1b[32m2026-03-02 14:22:01.331\x1b[0m | \x1b[1mINFO    \x1b[0m | \x1b[36m__main__\x1b[0m:\x1b[36mmain\x1b[0m:\x1b[36m88\x1b[0m - \x1b[1mepoch=1 train/loss=0.8210 valid/loss=0.7102 valid/acc=0.7330\x1b[0m
\x1b[32m2026-03-02 14:22:31.512\x1b[0m | \x1b[1mINFO    \x1b[0m | \x1b[36m__main__\x1b[0m:\x1b[36mmain\x1b[0m:\x1b[36m88\x1b[0m - \x1b[1mepoch=2 train/loss=0.5127 valid/loss=0.5588 valid/acc=0.8041\x1b[0m
\x1b[32m2026-03-02 14:22:31.600\x1b[0m | \x1b[33m\x1b[1mWARNING \x1b[0m | \x1b[36m__main__\x1b[0m:\x1b[36mmain\x1b[0m:\x1b[36m91\x1b[0m - \x1b[33m\x1b[1mloss above target 0.5\x1b[0m
"""
want("train_loss loss", 0.5127)
want("val_loss valid_loss", 0.5588)
want("val_accuracy accuracy", 0.8041)
wrong(0.5, "the target")
wrong(0.8, "cut")
