"""PyTorch Lightning's progress bar, with _step and _epoch."""
STREAM = "stderr"
LOG = """
GPU available: False, used: False
  | Name  | Type       | Params
-------------------------------------
0 | model | Sequential | 101 K
-------------------------------------
Epoch 0:   0%|          | 0/430 [00:00<?, ?it/s]\rEpoch 0:  50%|#####     | 215/430 [00:03<00:03, 61.02it/s, v_num=3, train_loss_step=0.611]\rEpoch 0: 100%|##########| 430/430 [00:07<00:00, 60.11it/s, v_num=3, train_loss_step=0.402, val_loss=0.371, val_acc=0.882, train_loss_epoch=0.534]
Epoch 1:   0%|          | 0/430 [00:00<?, ?it/s, v_num=3, train_loss_step=0.402, val_loss=0.371, val_acc=0.882, train_loss_epoch=0.534]\rEpoch 1:  50%|#####     | 215/430 [00:03<00:03, 62.40it/s, v_num=3, train_loss_step=0.297, val_loss=0.371, val_acc=0.882, train_loss_epoch=0.534]\rEpoch 1: 100%|##########| 430/430 [00:07<00:00, 60.99it/s, v_num=3, train_loss_step=0.118, val_loss=0.294, val_acc=0.911, train_loss_epoch=0.307]
`Trainer.fit` stopped: `max_epochs=2` reached.
"""
want("loss train_loss train_loss_epoch loss_epoch", 0.307)
want("val_loss", 0.294)
want("val_accuracy", 0.911)
may("accuracy", 0.911)
may("train_loss_step loss_step", 0.118)
wrong(0.118, "a step's loss, not the epoch's")
wrong(0.534, "epoch 0")
wrong(0.371, "epoch 0")
