import { assign, expandKnown, expandVariables } from './variables.ts';
import { splitOutside, withoutQuotes, wordsOf } from './words.ts';

/**
 * The contents of a Makefile, Dockerfile or script, without those branches of a Makefile's conditions that do not apply on this machine.
 */
export interface BuildText {
  /** A line that continues on the next line is joined with it. */
  lines: string[];
  /** The variables' unexpanded values, without variables that depend on conditions which only make can evaluate. */
  variables: Map<string, string>;
  /** What a Makefile sets for single targets, such as `build: TAGS = a`, in the order of its lines. */
  ofTargets: { target: string; assignment: string }[];
}

export function readBuildText(text: string): BuildText {
  const read: BuildText = { lines: [], variables: new Map(), ofTargets: [] };
  const place: Place = { conditions: [], isInRule: false, define: undefined };
  for (const line of text.replace(/\\\r?\n/g, ' ').split('\n')) {
    if (readDefine(line, place, read.variables) || readCondition(line, place, read.variables)) continue;
    const holds = verdictOf(place);
    if (holds === false) continue;
    read.lines.push(line);
    if (holds && place.define === undefined) readLine(line, place, read);
  }
  return read;
}

export function buildVariables(text: string): Map<string, string> {
  return readBuildText(text).variables;
}

/** Whether a condition holds; undefined if only make can tell. */
type Verdict = boolean | undefined;

/** The current branch of `ifeq … else …`: whether it holds here, and whether it or an earlier branch does. */
interface Condition {
  holds: Verdict;
  held: Verdict;
}

interface Place {
  conditions: Condition[];
  /** In a rule, indented lines are commands. */
  isInRule: boolean;
  define: { name: string; lines: string[] } | undefined;
}

function verdictOf({ conditions }: Place): Verdict {
  return all(conditions.map(({ holds }) => holds));
}

function all(verdicts: Verdict[]): Verdict {
  return verdicts.includes(false) ? false : verdicts.includes(undefined) ? undefined : true;
}

function any(verdicts: Verdict[]): Verdict {
  return verdicts.includes(true) ? true : verdicts.includes(undefined) ? undefined : false;
}

const DEFINE = /^ *(?:(?:export|override)\s+)*define\s+(\w+)\s*[?+:]*=?\s*$/;
const ENDEF = /^\s*endef\b/;

/** Whether this line begins or ends a variable of several lines (`define` … `endef`). */
function readDefine(line: string, place: Place, variables: Map<string, string>): boolean {
  const { define } = place;
  const [, name] = define ? [] : (DEFINE.exec(line) ?? []);
  if (name !== undefined) place.define = { name, lines: [] };
  if (define && ENDEF.test(line)) {
    place.define = undefined;
    if (verdictOf(place)) variables.set(define.name, define.lines.join(' '));
  } else define?.lines.push(line.trim());
  return name !== undefined || (define !== undefined && place.define === undefined);
}

/** The line can start with a tab: make allows it outside rules, and inside rules no shell command looks like this. */
const CONDITION = /^[ \t]*(else\s+)?(ifeq|ifneq|ifdef|ifndef)\b\s*(.*)$/;
const ELSE = /^[ \t]*else\s*(?:#.*)?$/;
const ENDIF = /^[ \t]*endif\s*(?:#.*)?$/;

/** Whether this line is one of a Makefile's conditions. */
function readCondition(line: string, { conditions, define }: Place, variables: Map<string, string>): boolean {
  if (define) return false;
  const [, otherwise, kind, written = ''] = CONDITION.exec(line) ?? [];
  const isElse = otherwise !== undefined || (conditions.length > 0 && ELSE.test(line));
  const before = isElse ? conditions.pop() : undefined;
  if (kind === undefined && !isElse) return ENDIF.test(line) && conditions.pop() !== undefined;
  const itself = kind === undefined ? true : judge(kind, written.replace(/\s+#.*$/, ''), variables);
  const held = before ? before.held : false;
  const holds = all([held === undefined ? undefined : !held, itself]);
  conditions.push({ holds, held: any([held, holds]) });
  return true;
}

function judge(kind: string, written: string, variables: Map<string, string>): Verdict {
  if (kind.endsWith('def')) {
    const isSet = (variables.get(expandKnown(written, variables).trim()) ?? '') !== '';
    return kind === 'ifdef' ? isSet : !isSet;
  }
  const [one, other] = comparedIn(written).map((word) => expandVariables(word, variables)?.trim());
  if (one === undefined || other === undefined) return undefined;
  return (one === other) === (kind === 'ifeq');
}

/** `(a,b)`, `"a" "b"` or `'a' 'b'`. */
function comparedIn(written: string): string[] {
  const text = written.trim();
  if (text.startsWith('(')) return splitOutside(text.replace(/^\(|\)$/g, ''), /,/);
  return wordsOf(text).map(withoutQuotes);
}

const RULE = /^[^\s#:=][^#:=]*:(?![:=])/;
const OF_TARGETS =
  /^([^\s#:=][^#:=]*):\s*((?:(?:export|override|private)\s+)*\w+[ \t]*(?:\?|\+|!|:{0,3})=.*)$/;

function readLine(line: string, place: Place, { variables, ofTargets }: BuildText): void {
  const [, targets, assignment] = OF_TARGETS.exec(line) ?? [];
  if (targets !== undefined && assignment !== undefined)
    for (const target of wordsOf(expandKnown(targets, variables))) ofTargets.push({ target, assignment });
  else if (!place.isInRule || !line.startsWith('\t')) {
    if (line.trim() !== '') place.isInRule = RULE.test(line);
    // Outside conditions, an indented line belongs to a rule, or to a function or condition of a shell, so it sets no variable here.
    assign(place.conditions.length > 0 ? line.trim() : line, variables);
  }
}
