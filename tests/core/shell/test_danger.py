"""Which commands are dangerous, and why."""

from tildone.plan.shell.danger import caution, danger
from tildone.plan.shell.syntax import MAX_CHARACTERS

DANGEROUS = {
    "rm -rf build": "deletes files",
    "rm -f x": "deletes files",
    "rm build -R": "deletes files",
    "rm --recursive x": "deletes files",
    "/bin/rm -r x": "deletes files",
    "X=1 rm -rf x": "deletes files",
    "cd src && rm -rf build": "deletes files",
    "echo $(rm -rf x)": "deletes files",
    "sudo rm -rf /": "runs as another user, deletes files",
    "doas -u ada rm -rf /": "runs as another user, deletes files",
    "sudo ls": "runs as another user",
    "env X=1 nice -n 5 timeout 9 rm -rf x": "deletes files",
    "bash -c 'rm -rf x'": "deletes files",
    "sh -ec 'cd x; rm -rf y'": "deletes files",
    "sudo bash -c \"sh -c 'rm -rf x'\"": "runs as another user, deletes files",
    "eval 'rm -rf x'": "deletes files",
    "ssh host 'rm -rf x'": "deletes files",
    "ssh host rm -rf x": "deletes files",
    "trap 'rm -rf x' EXIT": "deletes files",
    "ls | xargs rm": "deletes files",
    "ls | xargs -n 1 rm": "deletes files",
    "find . -name '*.pyc' -exec rm {} +": "deletes files",
    "find . -name x -delete": "deletes files",
    "fd -e pyc -x rm": "deletes files",
    "echo 'rm -rf x' | sh": "deletes files",
    "printf 'rm -rf x' | bash -s": "deletes files",
    "for x in a b; do rm -rf $x; done": "deletes files",
    "if true; then rm -rf x; fi # it's old": "deletes files",
    "bash <<E\nrm -rf x\nE": "deletes files",
    "X=$((1)) rm -rf x": "deletes files",
    "git push --force": "rewrites the history of a repository",
    "git push -uf origin main": "rewrites the history of a repository",
    "git push origin +main": "rewrites the history of a repository",
    "git -C x push --force-with-lease=main": "rewrites the history of a repository",
    "git reset --hard HEAD~1": "discards changes that are not committed",
    "git clean -fdx": "deletes files that git does not track",
    "git checkout --force main": "overrides a protection",
    "npm install --force": "overrides a protection",
    "docker image prune --force": "overrides a protection",
    "cat x > /dev/sda": "writes to a device",
    "for x in a; do cat $x > /dev/sda; done": "writes to a device",
    "dd if=x of=/dev/sda": "overwrites a file or a device",
    "mkfs.ext4 /dev/sda1": "erases a file or a disk",
    "sudo mkfs -t ext4 /dev/sda1": "runs as another user, erases a file or a disk",
    "shred x": "erases a file or a disk",
    "wipefs -a x": "erases a file or a disk",
    "blkdiscard x": "erases a file or a disk",
    "psql -c 'DROP TABLE x'": "deletes data of a database",
    "echo 'drop database x' | mysql": "deletes data of a database",
    "psql <<E\nTRUNCATE TABLE x\nE": "deletes data of a database",
}
HARMLESS = [
    "",
    "X=1",
    "ls -rf",
    "rm x",
    "echo 'rm -rf x'",
    'echo "rm -rf"',
    "git commit -m 'rm -rf x; git push --force'",
    "git commit -m 'DROP TABLE users' -m more",
    "grep -rn 'DROP TABLE' src",
    "grep --force x",
    "git push",
    "git push -u origin main",
    "git reset --soft HEAD~1",
    "git clean -n",
    "find . -name rm -print",
    "find . -exec ls {} +",
    "xargs grep x",
    "make > /dev/null 2>&1",
    "echo x > /dev/stderr",
    "echo x > /dev/fd/3",
    "dd if=x of=/dev/null",
    "warm -rf x",
    "./rm-cache -rf x",
    "bash script.sh -c",
    "echo hi | sh",
    "for x in a; do echo $x; done",
    "python script.py --rf",
]


def test_a_dangerous_command_is_told_why() -> None:
    assert {line: danger(line) for line in DANGEROUS} == DANGEROUS


def test_a_person_is_told_in_a_sentence() -> None:
    assert (caution("rm -rf x"), caution("ls")) == ("Careful: it deletes files.", "")


def test_other_commands_are_not_dangerous() -> None:
    """A text that is only quoted is no command."""
    assert {line: danger(line) for line in HARMLESS if danger(line)} == {}


def test_a_command_in_commands_in_commands_is_looked_for_so_deep_only() -> None:
    nested = "rm -rf x"
    for _ in range(3):
        nested = f"sudo {nested}"
    assert danger(nested) == "runs as another user, deletes files"
    assert danger(f"{'sudo ' * 20}{nested}") == "runs as another user"
    assert danger("sudo " * (MAX_CHARACTERS // 5)) == "runs as another user"
