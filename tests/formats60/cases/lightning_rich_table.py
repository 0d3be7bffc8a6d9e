"""Lightning with Rich: a table with box characters and colours."""
LOG = """
Epoch 9/9 \x1b[38;2;98;6;224m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[37m64/64\x1b[0m \x1b[38;5;245m0:00:01 • 0:00:00\x1b[0m \x1b[38;5;249m51.03it/s\x1b[0m \x1b[37mv_num: 1.000 train_loss: 0.244 \x1b[0m
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━┓
┃\x1b[1m \x1b[0m\x1b[1m       Test metric       \x1b[0m\x1b[1m \x1b[0m┃\x1b[1m \x1b[0m\x1b[1m      DataLoader 0       \x1b[0m\x1b[1m \x1b[0m┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━┩
│\x1b[36m \x1b[0m\x1b[36m        test_acc         \x1b[0m\x1b[36m \x1b[0m│\x1b[35m \x1b[0m\x1b[35m   0.9139999747276306    \x1b[0m\x1b[35m \x1b[0m│
│\x1b[36m \x1b[0m\x1b[36m         test_f1         \x1b[0m\x1b[36m \x1b[0m│\x1b[35m \x1b[0m\x1b[35m   0.9081230163574219    \x1b[0m\x1b[35m \x1b[0m│
│\x1b[36m \x1b[0m\x1b[36m        test_loss        \x1b[0m\x1b[36m \x1b[0m│\x1b[35m \x1b[0m\x1b[35m   0.27114051580429077   \x1b[0m\x1b[35m \x1b[0m│
└───────────────────────────┴───────────────────────────┘
"""
want("test_accuracy accuracy", 0.9139999747276306)
want("test_loss", 0.27114051580429077)
want("test_f1 f1", 0.9081230163574219)
want("train_loss loss", 0.244)
