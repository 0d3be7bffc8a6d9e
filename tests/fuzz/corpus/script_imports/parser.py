import argparse
"""doc --help"""
if __name__ == "__main__":
    argparse.ArgumentParser().parse_args()
