"""scikit-learn: MLPClassifier's iterations, then classification_report."""
LOG = """
Iteration 1, loss = 1.09123411
Iteration 2, loss = 0.81230112
Iteration 3, loss = 0.60221907
Training loss did not improve more than tol=0.000100 for 10 consecutive epochs. Stopping.
              precision    recall  f1-score   support

      setosa       1.00      1.00      1.00        19
  versicolor       1.00      0.92      0.96        13
   virginica       0.86      1.00      0.92         6

    accuracy                           0.97        38
   macro avg       0.95      0.97      0.96        38
weighted avg       0.98      0.97      0.97        38

"""
want("loss train_loss", 0.60221907)
want("accuracy test_accuracy", 0.97)
may("f1 macro_f1 f1_macro", [0.96])
may("f1 weighted_f1 f1_weighted", [0.97])
wrong(38, "the support")
wrong(0.0001, "the tolerance")
wrong(1.0, "one class")
