"""Sentence-Transformers: evaluator lines of logging."""
STREAM = "stderr"
LOG = """
2026-03-02 14:00:00 - EmbeddingSimilarityEvaluator: Evaluating the model on sts-dev dataset after epoch 0:
2026-03-02 14:00:03 - Cosine-Similarity :\tPearson: 0.7811\tSpearman: 0.7902
{'loss': 0.0421, 'grad_norm': 0.511, 'learning_rate': 1.1e-05, 'epoch': 1.0}
2026-03-02 14:01:00 - EmbeddingSimilarityEvaluator: Evaluating the model on sts-dev dataset after epoch 1:
2026-03-02 14:01:03 - Cosine-Similarity :\tPearson: 0.8342\tSpearman: 0.8407
{'loss': 0.0278, 'grad_norm': 0.402, 'learning_rate': 0.0, 'epoch': 2.0}
{'train_runtime': 61.0, 'train_samples_per_second': 188.1, 'train_loss': 0.03495, 'epoch': 2.0}
"""
want("loss train_loss", [0.03495, 0.0278])
want("spearman val_spearman", 0.8407, headline=True)
may("pearson val_pearson", 0.8342)
wrong(0.0421, "epoch 1")
