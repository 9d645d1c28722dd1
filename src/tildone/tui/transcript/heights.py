"""Cumulative heights of a list of blocks: a Fenwick tree, so that a change and a search take logarithmic time."""

from __future__ import annotations


class HeightIndex:
    """The heights of blocks from top to bottom."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]  # of position n: the sum of the last `n & -n` heights up to n

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        return self.top(len(self._heights))

    def append(self, height: int) -> None:
        self._heights.append(height)
        position = len(self._heights)
        self._tree.append(height + self.top(position - 1) - self.top(position - (position & -position)))

    def set(self, index: int, height: int) -> None:
        growth = height - self._heights[index]
        self._heights[index] = height
        position = index + 1
        while growth and position < len(self._tree):
            self._tree[position] += growth
            position += position & -position

    def top(self, index: int) -> int:
        """Return the height of all blocks before this one."""
        total = 0
        while index:
            total += self._tree[index]
            index &= index - 1
        return total

    def find(self, row: int) -> int:
        """Return the block that a row is in; the last one for a row below all.

        A block without height is never returned, unless no block has one.
        """
        index, bit = 0, 1 << len(self._heights).bit_length()
        row = min(row, self.total - 1)
        while bit:
            reached = index + bit
            if reached < len(self._tree) and self._tree[reached] <= row:
                index = reached
                row -= self._tree[reached]
            bit >>= 1
        return min(index, max(0, len(self._heights) - 1))

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]  # it has no subclasses
