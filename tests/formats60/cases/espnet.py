"""ESPnet2: a long line of an epoch, train and valid in brackets."""
LOG = """
[host] 2026-03-02 12:00:11,009 (trainer:754) INFO: 1epoch:train:1-50batch: iter_time=0.121, forward_time=0.112, loss_ctc=212.713, loss_att=88.219, acc=0.112, loss=125.567, backward_time=0.141, grad_norm=91.11, train_time=0.551
[host] 2026-03-02 12:03:41,541 (trainer:338) INFO: 1epoch results: [train] iter_time=0.011, forward_time=0.109, loss_ctc=141.902, loss_att=71.313, acc=0.231, loss=92.490, train_time=0.498, time=3 minutes and 22.1 seconds, total_count=500, [valid] loss_ctc=101.218, cer_ctc=0.801, loss_att=58.813, acc=0.341, cer=0.712, wer=0.991, loss=71.535, time=7.91 seconds
[host] 2026-03-02 12:07:22,100 (trainer:338) INFO: 2epoch results: [train] iter_time=0.010, forward_time=0.108, loss_ctc=83.017, loss_att=48.112, acc=0.517, loss=58.584, train_time=0.495, time=3 minutes and 20.7 seconds, total_count=1000, [valid] loss_ctc=51.912, cer_ctc=0.411, loss_att=33.807, acc=0.662, cer=0.318, wer=0.697, loss=39.239, time=7.83 seconds
[host] 2026-03-02 12:07:22,331 (trainer:386) INFO: The best model has been updated: valid.acc
[host] 2026-03-02 12:07:22,350 (trainer:444) INFO: The training was finished at 2 epochs
"""
want("loss train_loss", 58.584)
want("accuracy train_accuracy", 0.517)
want("val_loss", 39.239)
want("val_accuracy", 0.662)
may("cer val_cer", 0.318)
may("wer val_wer", 0.697)
wrong(83.017, "loss_ctc")
wrong(0.411, "cer_ctc")
wrong(71.535, "epoch 1")
