"""nanoGPT: iter lines of batches, step lines of evaluation."""
LOG = """
tokens per iteration will be: 16,384
number of parameters: 10.65M
step 0: train loss 4.2874, val loss 4.2823
iter 0: loss 4.2654, time 31203.01ms, mfu -100.00%
iter 10: loss 3.2401, time 31.11ms, mfu 12.21%
step 250: train loss 1.9703, val loss 2.0651
saving checkpoint to out-shakespeare-char
iter 250: loss 2.0322, time 4511.90ms, mfu 10.99%
iter 490: loss 1.6641, time 31.09ms, mfu 12.17%
step 500: train loss 1.5312, val loss 1.7288
saving checkpoint to out-shakespeare-char
iter 500: loss 1.6007, time 4508.77ms, mfu 10.95%
"""
want("loss train_loss", 1.5312)
want("val_loss", 1.7288)
may("loss_step iter_loss", 1.6007)
wrong(1.6007, "one batch; the step line has the mean")
wrong(2.0651, "step 250")
