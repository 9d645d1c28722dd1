"""`tildone completion`: the scripts that let shells complete commands. They call `tildone complete-words`."""

from __future__ import annotations

from tildone.cli.output.screen import put
from tildone.cli.program.values import SHELLS
from tildone.errors import UsageError, nearest
from tildone.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tildone.cli.parsing.table import ParsedArgs

BASH = r"""# Completion of tildone for bash. Put this line into ~/.bashrc:
#     eval "$(tildone completion bash)"
_tildone() {
    local kind line program=tildone
    [[ $1 == */* && -x $1 ]] && program=$1
    COMPREPLY=()
    {
        IFS= read -r kind
        while IFS= read -r line; do
            COMPREPLY+=("$line")
        done
    } < <("$program" complete-words bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" "$COMP_TYPE" 2>/dev/null)
    [[ $kind == files ]] || compopt +o default 2>/dev/null
}
complete -o default -o nosort -F _tildone tildone 2>/dev/null || complete -o default -F _tildone tildone
"""

ZSH = r"""#compdef tildone
# Completion of tildone for zsh. Put this line into ~/.zshrc, after compinit:
#     eval "$(tildone completion zsh)"
_tildone() {
    local kind line program=tildone
    local -a values shown
    [[ $words[1] == */* && -x $words[1] ]] && program=$words[1]
    {
        IFS= read -r kind
        while IFS= read -r line; do
            values+=("${line%%$'\t'*}")
            shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
        done
    } < <("$program" complete-words zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#values )) && compadd -V tildone -l -d shown -a values
    [[ $kind == files ]] && _files
    (( $#values ))
}
if [[ $funcstack[1] == _tildone ]]; then
    _tildone "$@"
else
    compdef _tildone tildone
fi
"""

FISH = r"""# Completion of tildone for fish. Put this line into ~/.config/fish/config.fish:
#     tildone completion fish | source
function __tildone_complete
    set -l words (commandline -opc)
    set -l program tildone
    if string match -q '*/*' -- $words[1]; and test -x $words[1]
        set program $words[1]
    end
    set -e words[1]
    set -l current (commandline -ct)
    set -l bare (string unescape -- "$current")
    or set bare $current
    set -l lines ($program complete-words fish -- $words "$bare" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
    end
    set -e lines[1]
    for line in $lines
        echo -- $line
    end
end
complete -c tildone -e
complete -c tildone -f -k -a '(__tildone_complete)'
"""

SCRIPTS = dict(zip(SHELLS, (BASH, ZSH, FISH), strict=True))


def run(args: ParsedArgs) -> int:
    """Print the script for a shell."""
    shell = args.positional[0]
    if shell not in SCRIPTS:
        raise UsageError(f"there is no completion for {shell!r}; {nearest(shell, SHELLS)}")
    put(SCRIPTS[shell].removesuffix("\n"))
    return 0
