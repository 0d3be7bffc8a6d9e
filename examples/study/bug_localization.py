#!/usr/bin/env python3
"""Trains the deep neural network of bug-localization-by-dnn-and-rvsm with other values than those that its source has.

It runs in the repository's folder and uses the repository's functions; only the regressor is made here, as its
parameters are no arguments of theirs. It computes on the CPU."""
import argparse
import os
import sys


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="model", choices=["default"], default="default")
    parser.add_argument("--kfold", type=int, default=10)
    parser.add_argument("--alpha", type=float, default=1e-5)
    parser.add_argument("--max-iter", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def train_fold(fold, samples, start, finish, sample_dict, bug_reports, files, options):
    """One fold, in a process of joblib's: accuracies by k."""
    sys.path.insert(0, os.getcwd())
    import numpy
    from dnn_model import features_and_labels, kfold_split, oversample
    from sklearn.neural_network import MLPRegressor
    from util import topk_accuarcy
    training, test_reports = kfold_split(bug_reports, samples, start, finish)
    training = oversample(training)
    numpy.random.RandomState(options.seed + fold).shuffle(training)
    features, labels = features_and_labels(training)
    regressor = MLPRegressor(solver="sgd", alpha=options.alpha, hidden_layer_sizes=(300,), random_state=options.seed,
                             max_iter=options.max_iter, n_iter_no_change=30)
    regressor.fit(features, labels.ravel())
    return topk_accuarcy(test_reports, sample_dict, files, clf=regressor)


def main():
    options = parse()
    os.chdir("src") # its functions look for ../data
    sys.path.insert(0, os.getcwd())
    import numpy
    from dnn_model import kfold_split_indexes
    from joblib import Parallel, delayed
    from util import csv2dict, helper_collections
    samples = csv2dict("../data/features.csv")
    sample_dict, bug_reports, files = helper_collections(samples)
    numpy.random.RandomState(options.seed).shuffle(samples)
    folds = kfold_split_indexes(options.kfold, len(samples))
    results = Parallel(n_jobs=-2)(
        delayed(train_fold)(fold, samples, start, finish, sample_dict, bug_reports, files, options)
        for fold, (start, finish) in enumerate(folds))
    print("accuracy over %d folds" % len(results))
    for k in sorted(results[0]):
        accuracy = sum(result[k] for result in results) / len(results)
        print("  Top-%2d Accuracy: %.3f (%.1f%%)" % (k, accuracy, 100 * accuracy))
    return 0


if __name__ == "__main__":
    sys.exit(main())
