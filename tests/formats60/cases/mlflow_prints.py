"""MLflow's quickstart print and a model's URI."""
LOG = """
2026/03/02 14:10:00 INFO mlflow.tracking.fluent: Experiment with name 'wine' does not exist. Creating a new experiment.
Elasticnet model (alpha=0.500000, l1_ratio=0.500000):
  RMSE: 0.7931640229276851
  MAE: 0.6271946374319586
  R2: 0.10862644997792614
🏃 View run loss-0.31-sweep at: http://127.0.0.1:5000/#/experiments/1/runs/1f2e3d
"""
want("rmse test_rmse", 0.7931640229276851, headline=True)
want("mae", 0.6271946374319586, headline=True)
may("r2", 0.10862644997792614)
wrong(-0.31, "the run's name")
wrong(0.31, "the run's name")
wrong(2, "the 2 of R2")
