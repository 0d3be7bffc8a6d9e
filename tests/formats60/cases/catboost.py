"""CatBoost: learn, test, best and time; a shrunk model at the end."""
LOG = """
0:\tlearn: 0.6711203\ttest: 0.6723110\tbest: 0.6723110 (0)\ttotal: 58.1ms\tremaining: 5.75s
50:\tlearn: 0.3120118\ttest: 0.3501192\tbest: 0.3501192 (50)\ttotal: 1.11s\tremaining: 1.06s
99:\tlearn: 0.2511021\ttest: 0.3477120\tbest: 0.3460011 (81)\ttotal: 2.14s\tremaining: 0us

bestTest = 0.3460011234
bestIteration = 81

Shrink model to first 82 iterations.
Logloss: 0.34600, Accuracy: 0.8712, F1: 0.8544
"""
want("accuracy test_accuracy", 0.8712)
want("f1 test_f1", 0.8544)
may("loss logloss test_loss test_logloss", 0.34600)
may("train_loss learn loss", 0.2511021)
may("test_loss test", [0.3477120, 0.346, 0.3460011234])
wrong(0.2511, "cut")
