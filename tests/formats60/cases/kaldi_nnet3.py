"""Kaldi's nnet3 logs and its scoring line."""
STREAM = "stderr"
LOG = """
LOG (nnet3-train[5.5.1]:PrintStatsForThisPhase():nnet-training.cc:271) Average objective function for 'output' for minibatches 0-99 is -1.98231 over 51200 frames.
LOG (nnet3-train[5.5.1]:PrintTotalStats():nnet-training.cc:399) Overall average objective function for 'output' is -1.51204 over 512000 frames.
LOG (nnet3-compute-prob[5.5.1]:PrintTotalStats():nnet-diagnostics.cc:191) Overall log-likelihood for 'output' is -1.6113 per frame, over 10000 frames.
LOG (nnet3-compute-prob[5.5.1]:PrintTotalStats():nnet-diagnostics.cc:191) Overall accuracy for 'output' is 0.5712 per frame, over 10000 frames.
%WER 12.34 [ 3214 / 26045, 301 ins, 711 del, 2202 sub ] exp/tri/decode/wer_13
"""
want("accuracy val_accuracy overall_accuracy", 0.5712)
want("wer test_wer", 12.34, headline=True)
wrong(3214, "the ratio's numerator")
wrong(10000, "number of frames")
wrong(0.5, "the version")
