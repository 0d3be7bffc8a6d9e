"""fastai's fine_tune: two tables, the frozen epoch first."""
LOG = """
epoch     train_loss  valid_loss  error_rate  accuracy  time    
0         1.102310    0.411209    0.131258    0.868742  00:52     
epoch     train_loss  valid_loss  error_rate  accuracy  time    
0         0.510120    0.298711    0.093369    0.906631  01:07     
1         0.301885    0.221404    0.071042    0.928958  01:07     
"""
want("train_loss loss", 0.301885)
want("val_loss valid_loss", 0.221404)
want("accuracy val_accuracy", 0.928958)
may("error_rate", 0.071042)
wrong(0.868742, "the first table")
wrong(0.071042, "error rate, not accuracy")
