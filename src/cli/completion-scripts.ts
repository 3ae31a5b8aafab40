import { PLAIN_ROUTES } from '../config/route-choice.ts';

/** What a shell has to know about a command. */
export interface Described {
  name: string;
  about: string;
  words: string[];
  /** Whether `--` and a command of the user's own can follow. */
  takesCommand: boolean;
  flags: DescribedFlag[];
}

export interface DescribedFlag {
  long: string;
  short: string | undefined;
  about: string;
  takes: 'nothing' | 'value' | 'file' | 'route';
  /** The values that the flag accepts; empty if they are not a fixed set. */
  choices: string[];
}

const ROUTES = `${PLAIN_ROUTES.join(' ')} ssh:`;
/**
 * Prints the host names in the OpenSSH configuration, in syntax that every shell understands. It prints only plain names, because bash
 * would expand anything else in that file, including `$(…)`.
 */
const SSH_HOSTS =
  "sed -n 's/^[[:space:]]*[Hh]ost[[:space:]=]\\{1,\\}//p' ~/.ssh/config 2>/dev/null | tr -s '[:space:]' '\\n' | grep '^[[:alnum:]][[:alnum:]._-]*$'";

export function bash(commands: Described[]): string {
  const flags = commands.flatMap((command) => command.flags);
  const spelled = (takes: DescribedFlag['takes']): string =>
    [...new Set(flags.filter((flag) => flag.takes === takes).flatMap(spellings))].join('|');
  const choices = commands.flatMap(({ name, flags }) =>
    flags
      .filter(({ choices }) => choices.length > 0)
      .map((flag) => {
        const pattern = spellings(flag).map((spelling) => `'${name} ${spelling}'`);
        return `    ${pattern.join('|')}) COMPREPLY=($(compgen -W '${flag.choices.join(' ')}' -- "$current")); return ;;`;
      }),
  );
  const cases = commands.map(
    ({ name, words, flags }) =>
      `    ${name}) offered='${[...words, ...flags.flatMap(spellings)].join(' ')}' ;;`,
  );
  return `# bash completion for devloop
_devloop() {
  local current=\${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) previous offered word
  COMPREPLY=()
  # What follows -- is a command of its own.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    if [[ $word == -- ]]; then compopt -o default; return; fi
  done
  # bash splits words at = and :.
  if [[ $current == [:=] ]]; then current=; at=$COMP_CWORD; fi
  if [[ \${COMP_WORDS[at]} == : && \${COMP_WORDS[at - 1]} == ssh ]]; then
    COMPREPLY=($(compgen -W "$(${SSH_HOSTS})" -- "$current"))
    return
  fi
  if [[ \${COMP_WORDS[at]} == '=' ]]; then at=$((at - 1)); fi
  previous=\${COMP_WORDS[at]}
  case "\${COMP_WORDS[1]} $previous" in
${choices.join('\n')}
  esac
  case $previous in
    ${spelled('route')})
      COMPREPLY=($(compgen -W '${ROUTES}' -- "$current"))
      if [[ \${COMPREPLY[*]} == ssh: ]]; then compopt -o nospace 2>/dev/null; fi
      return ;;
    ${spelled('file')}) compopt -o default; return ;;
    ${spelled('value')}) return ;;
  esac
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
    *) offered='${commands.map(({ name }) => name).join(' ')} --help --version' ;;
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
complete -F _devloop devloop
`;
}

export function zsh(commands: Described[]): string {
  const names = commands.map(({ name, about }) => `    ${quoted(`${name}:${about}`)}`);
  const cases = commands.map(({ name, words, takesCommand, flags }) => {
    const rest = takesCommand ? ['*::command:_normal'] : [];
    const specs = [...flags.flatMap(zshFlag), ...(words.length > 0 ? [`:word:(${words.join(' ')})`] : rest)];
    return `    ${name}) _arguments \\\n${specs.map((spec) => `      ${quoted(spec)}`).join(' \\\n')} ;;`;
  });
  return `#compdef devloop
_devloop_routes() {
  local -a hosts=(\${(f)"$(${SSH_HOSTS})"})
  compadd ${PLAIN_ROUTES.join(' ')}
  compadd -S '' ssh:
  (( $#hosts )) && compadd ssh:$^hosts
}
_devloop() {
  local -a commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
}
# When sourced, this file registers the function; when autoloaded from $fpath, it is the function's body.
if [[ $funcstack[1] == _devloop ]]; then _devloop "$@"; else compdef _devloop devloop; fi
`;
}

/** `ssh:(…)` expands to nothing if there are no hosts, so `ssh:` is offered on its own, too. */
const FISH_ROUTES = ` -xa '${ROUTES} ssh:(__devloop_ssh_hosts)'`;

export function fish(commands: Described[]): string {
  const start = 'complete -c devloop';
  const lines = commands.flatMap(({ name, about, words, flags }) => {
    const here = `${start} -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `${start} -n __fish_use_subcommand -a ${name} -d ${quoted(about, "\\'")}`,
      ...(words.length > 0 ? [`${here} -a '${words.join(' ')}'`] : []),
      ...flags.map(({ long, short, about, takes, choices }) => {
        const words = choices.length > 0 ? ` -xa '${choices.join(' ')}'` : ' -x';
        const value = { nothing: '', value: words, file: ' -rF', route: FISH_ROUTES }[takes];
        return `${here}${short ? ` -s ${short.slice(1)}` : ''} -l ${long.slice(2)}${value} -d ${quoted(about, "\\'")}`;
      }),
    ];
  });
  const hosts = `function __devloop_ssh_hosts\n  ${SSH_HOSTS}\nend`;
  return `# fish completion for devloop\n${hosts}\n${start} -f\n${lines.join('\n')}\n`;
}

function spellings({ long, short }: DescribedFlag): string[] {
  return short === undefined ? [long] : [short, long];
}

function zshFlag(flag: DescribedFlag): string[] {
  const about = flag.about.replace(/[[\]:]/g, '\\$&');
  const words = flag.choices.length > 0 ? `:value:(${flag.choices.join(' ')})` : ':value:';
  const value = { nothing: '', value: words, file: ':file:_files', route: ':route:_devloop_routes' }[
    flag.takes
  ];
  return spellings(flag).map((spelling) => `*${spelling}[${about}]${value}`);
}

/** Puts a text into single quotes. fish accepts \\' inside them; bash and zsh need the quotes closed for an apostrophe. */
function quoted(text: string, apostrophe = "'\\''"): string {
  return `'${text.replaceAll("'", apostrophe)}'`;
}
