"""A JAX loop with Optax: arrays printed with their repr."""
LOG = """
step     0 loss Array(2.3047, dtype=float32)
step   500 loss Array(0.4102, dtype=float32)
step  1000 loss Array(0.2871, dtype=float32)
eval: {'loss': Array(0.3014, dtype=float32), 'accuracy': Array(0.9121, dtype=float32)}
"""
want("accuracy val_accuracy", 0.9121)
want("val_loss loss", 0.3014)
may("loss train_loss", 0.2871)
wrong(32, "float32")
wrong(0.4102, "step 500")
