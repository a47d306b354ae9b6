#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first line of a commit message has at most 72 characters; those of merges may be longer.
Usage: commit_subjects.py REPOSITORY. Exit code 77: there is no history to look at."""
import os
import shutil
import subprocess
import sys
import tempfile

LIMIT = 72
BEGAN = "e7d8077"  # commits after this one


def git(folder, *arguments):
    return subprocess.run(["git", "-c", "safe.directory=*", "-C", folder, *arguments], capture_output=True, text=True)


def too_long(folder, began=BEGAN):
    """Commits whose subject is too long; None without a history. In a shallow clone that ends after `began`, all commits count."""
    known = git(folder, "merge-base", "--is-ancestor", began, "HEAD").returncode == 0
    if not known and git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() != "true":
        return None
    log = git(folder, "log", "--format=%h %s", f"{began}..HEAD" if known else "HEAD")
    if log.returncode != 0:
        return None
    subjects = [line.split(" ", 1) for line in log.stdout.splitlines()]
    return [f"{commit}: {len(subject)} characters, at most {LIMIT}: {subject}" for commit, subject in subjects
            if len(subject) > LIMIT and not subject.startswith("Merge")]


def self_test():
    """A rule that never fires proves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        made, shallow = os.path.join(folder, "made"), os.path.join(folder, "shallow")
        subprocess.run(["git", "init", "-q", made], check=True)
        for subject in ("o" * 90, "the rule begins", "x" * LIMIT, "y" * (LIMIT + 1), "Merge " + "z" * LIMIT):
            subprocess.run(["git", "-C", made, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", subject],
                           check=True)
        subprocess.run(["git", "clone", "-q", "--depth", "3", "file://" + made, shallow], check=True)
        began = git(made, "rev-parse", "HEAD~3").stdout.strip()
        for where, from_commit, expected in ((made, began, 1), (shallow, began, 1), (folder, began, None), (made, "0" * 40, None)):
            found = too_long(where, from_commit)
            if (None if found is None else len(found)) != expected:
                sys.exit(f"found {found}")


def main():
    if shutil.which("git") is None:
        print("git is not installed")
        sys.exit(77)
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = too_long(sys.argv[1])
    if found is None:
        print("no history since the rule began")
        sys.exit(77)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
