"""HF Seq2SeqTrainer with WER and a bar on the same line as the dict."""
LOG = """
 25%|██▌       | 1000/4000 [12:01<35:40,  1.40it/s]{'loss': 0.2411, 'grad_norm': 4.01, 'learning_rate': 8.7e-06, 'epoch': 2.44}
                                                   \r{'eval_loss': 0.3012, 'eval_wer': 35.5120, 'eval_runtime': 400.1, 'epoch': 2.44}
100%|██████████| 4000/4000 [51:11<00:00,  1.39it/s]{'loss': 0.0103, 'grad_norm': 0.61, 'learning_rate': 0.0, 'epoch': 9.78}
                                                   \r{'eval_loss': 0.3877, 'eval_wer': 31.0420, 'eval_runtime': 398.8, 'epoch': 9.78}
"""
want("loss train_loss", 0.0103)
want("val_loss eval_loss", 0.3877)
want("wer eval_wer", 31.042, headline=True)
wrong(0.3012, "step 1000")
