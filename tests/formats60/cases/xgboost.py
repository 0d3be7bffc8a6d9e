"""XGBoost: eval lines with tabs, the last one is not the best."""
LOG = """
[0]\ttrain-logloss:0.61112\teval-logloss:0.62340
[10]\ttrain-logloss:0.31208\teval-logloss:0.38811
[20]\ttrain-logloss:0.20117\teval-logloss:0.35120
[29]\ttrain-logloss:0.14302\teval-logloss:0.36204
Best iteration: 21, best score: 0.35077
Accuracy: 84.65%
"""
want("accuracy test_accuracy val_accuracy", 84.65, percent=True)
want("val_logloss eval_logloss val_loss logloss", 0.36204, headline=True)
may("train_logloss train_loss loss logloss", 0.14302)
may("best_score", 0.35077)
wrong(0.3512, "iteration 20")
wrong(29, "number of the round")
