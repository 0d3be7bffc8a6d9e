"""DeepSpeed with two ranks and the engine's lines of timers."""
LOG = """
[2026-03-02 13:10:01,001] [INFO] [runner.py:463:main] Using IP address of 10.0.0.4 for node node1
[2026-03-02 13:10:31,118] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768
[rank 0] epoch 0 step 40 | train loss 0.9127 | lr 1.0e-5
[rank 1] epoch 0 step 40 | train loss 0.9411 | lr 1.0e-5
[2026-03-02 13:10:55,902] [INFO] [logging.py:129:log_dist] [Rank 0] step=40, skipped=1, lr=[1e-05], mom=[(0.9, 0.999)]
[rank 0] epoch 1 step 80 | train loss 0.6212 | lr 1.0e-5
[rank 1] epoch 1 step 80 | train loss 0.6588 | lr 1.0e-5
[2026-03-02 13:11:55,902] [INFO] [logging.py:129:log_dist] [Rank 0] step=80, skipped=1, lr=[1e-05], mom=[(0.9, 0.999)]
[2026-03-02 13:11:56,411] [INFO] [timer.py:264:stop] epoch=0/micro_step=80/global_step=80, RunningAvgSamplesPerSec=33.1, CurrSamplesPerSec=33.4, MemAllocated=1.21GB, MaxMemAllocated=4.8GB
***** Evaluating perplexity, Epoch 2/2 *****
ppl: 1.9318711757659912, loss: 0.6584891080856323
"""
want("loss train_loss", [0.6212, 0.6584891080856323])  # rank 0's, or that of the final line
want("val_loss eval_loss loss", 0.6584891080856323)
may("perplexity val_perplexity", 1.9318711757659912)
wrong(0.6588, "rank 1's")
wrong(65536, "the loss scale")
wrong(32768, "the loss scale")
