"""A table drawn with Rich, two columns of numbers; the validation is the second."""
LOG = """
           Results            
┏━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃ Metric   ┃ Train  ┃ Val    ┃
┡━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│ loss     │ 0.1812 │ 0.2941 │
│ accuracy │ 0.9430 │ 0.9017 │
└──────────┴────────┴────────┘
"""
want("loss train_loss", 0.1812)
want("val_loss", 0.2941)
want("accuracy train_accuracy", 0.9430)
want("val_accuracy", 0.9017)
