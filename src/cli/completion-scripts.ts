/**
 * The scripts only hand the words up to the cursor to `devloop __complete`, and its answer to the shell, so that they need not be renewed with
 * devloop. They never evaluate what they get. After `--` comes a command of the user's own, which the shell completes as any other.
 */
export const SCRIPTS = {
  bash: `# bash completion for devloop
_devloop() {
  local i word line current prefix breaks directive=4
  local -a words=()
  COMPREPLY=()
  # bash splits words at =, : and @, as far as COMP_WORDBREAKS has them.
  breaks=\${COMP_WORDBREAKS//[^=:@]/}
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if ((i < COMP_CWORD)) && [[ $word == -- ]]; then
      _devloop_command $((i + 1))
      return
    fi
    if [[ \${#words[@]} != 0 && -n $breaks ]] && [[ $word == ["$breaks"]* || \${words[\${#words[@]} - 1]} == *["$breaks"] ]]; then
      words[\${#words[@]} - 1]+=$word
    else
      words+=("$word")
    fi
  done
  word=\${words[\${#words[@]} - 1]}
  while IFS= read -r line; do
    case $line in
      :*) directive=\${line#:} ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(command devloop __complete -- "\${words[@]}" 2>/dev/null)
  # bash replaces only the last part of what it has split, and an @ before that.
  current=\${COMP_WORDS[COMP_CWORD]}
  if [[ $current == [=:]* ]]; then current=; fi
  prefix=\${word%"$current"}
  prefix=\${prefix%@}
  COMPREPLY=("\${COMPREPLY[@]#"$prefix"}")
  if [[ $directive == 0 ]]; then compopt -o default 2>/dev/null; fi
  if ((directive & 2)); then compopt -o nospace 2>/dev/null; fi
}
_devloop_command() {
  local line
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -c -- "\${COMP_WORDS[COMP_CWORD]}")
    compopt -o default 2>/dev/null
  else
    compopt -o default 2>/dev/null
  fi
}
complete -F _devloop devloop
`,
  zsh: `#compdef devloop
_devloop() {
  local line value about directive
  local -a answer values
  local at=$words[(Ie)--]
  if (( at > 0 && at < CURRENT )); then
    shift $at words
    (( CURRENT -= at ))
    _normal
    return
  fi
  answer=("\${(@f)$(command devloop __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  directive=\${answer[-1]#:}
  if [[ $directive == 0 ]]; then
    compset -P '--*='
    _files
    return
  fi
  for line in "\${(@)answer[1,-2]}"; do
    value=\${line%%$'\\t'*}
    about=\${line[$#value+2,-1]}
    values+=("\${value//:/\\\\:}\${about:+:$about}")
  done
  if (( directive & 2 )); then _describe value values -S ''; else _describe value values; fi
}
# When sourced, this file registers the function; when autoloaded from $fpath, it is the function's body.
if [[ $funcstack[1] == _devloop ]]; then _devloop "$@"; else compdef _devloop devloop; fi
`,
  fish: `# fish completion for devloop
function __devloop_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  if set -l at (contains -i -- -- $before)
    set -e before[1..$at]
    complete -C (string join ' ' -- (string escape -- $before) "$current")
    return
  end
  set -e before[1]
  set -l answer (command devloop __complete -- $before "$current" 2>/dev/null)
  if test "$answer[-1]" = :0
    set -l option (string match -r -- '^--[^=]*=' "$current")
    string replace -r -- '^' "$option" (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current"))
    return
  end
  string match -v -- ':*' $answer
end
complete -c devloop -f -a '(__devloop_complete)'
`,
};
