"""Ranks print their own losses; one line without a prefix has the mean."""
LOG = """
[rank0]: step 100 loss 0.8112
[rank1]: step 100 loss 0.7904
[rank0]: step 200 loss 0.5510
[rank1]: step 200 loss 0.5933
=== all-reduced over 2 ranks: train loss 0.5722, eval loss 0.6010, eval accuracy 0.8105 ===
[rank1]: destroying process group
[rank0]: destroying process group
"""
want("train_loss loss", [0.5722, 0.5510])
want("val_loss eval_loss", 0.6010)
want("val_accuracy accuracy", 0.8105)
wrong(0.5933, "rank 1's")
