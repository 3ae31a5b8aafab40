import type { Emit } from '../report/events.ts';
import { notice } from '../report/notices/catalogue.ts';
import { isGivenIn } from './default-settings.ts';
import { busyAmong, portOf } from './ports.ts';
import { type Here, isAuxiliary, type Rule } from './rules.ts';
import { type OpenSettings, openSettings, type Setting, type StartSettings } from './settings.ts';

/** A setting that a rule changes. */
export interface Change {
  setting: Setting;
  after: string | null;
  because: string;
  isDoubtful: boolean;
  /** `after` without what comes from a Secret; undefined if nothing of it can be shown. */
  shownAfter: string | undefined;
}

/** What this rule would change. */
export async function changesBy(rule: Rule, settings: Setting[], here: Here): Promise<Change[]> {
  const found = settings.filter(
    (setting) => rule.looksFor(setting, here) && rule.becomes(setting, here) !== undefined,
  );
  const isOwn = await Promise.all(found.map(({ isOfProgram }) => isOfProgram?.() ?? true));
  const own = found.filter((_, index) => isOwn[index]);
  return (rule.choose?.(own) ?? own).map((setting) => {
    const { shown, value } = setting;
    const after = rule.becomes(setting, here)!;
    const open =
      shown === undefined || after === null ? undefined : rule.becomes({ ...setting, value: shown }, here);
    const shownAfter = shown === value ? after : open;
    return {
      ...{ setting, after, because: rule.because(setting), isDoubtful: rule.isDoubtful?.(setting) ?? false },
      shownAfter: shownAfter ?? undefined,
    };
  });
}

/** Applies the rules in their order. Returns what they changed, each change with a note. */
export async function applyRules(
  rules: Rule[],
  settings: OpenSettings,
  here: Here,
  emit: Emit,
): Promise<Change[]> {
  const all: Change[] = [];
  for (const rule of rules) {
    const changes = await changesBy(rule, settings.read(), here);
    for (const change of changes) {
      const { setting, after, shownAfter } = change;
      setting.set(after, shownAfter ?? setting.shown ?? '');
      emit(noticeOf(change));
    }
    all.push(...changes);
  }
  return all;
}

function noticeOf({ setting, after, because, isDoubtful, shownAfter }: Change): Parameters<Emit>[0] {
  const { name, shown: before, in: place, file } = setting;
  if (name === '' && file !== undefined) return notice('file.paths', { file });
  const values = { setting: name, before };
  if (after === null)
    return isDoubtful
      ? notice('setting.doubtful', { ...values, because })
      : notice('setting.left-out', { ...values, because });
  const shown = { after: shownAfter, because };
  return notice('setting.changed', { ...values, place, ...shown, file });
}

/**
 * The ports of metrics and health checks in these settings on which something on this machine listens, except those of the controller that
 * is already running with the settings `running`: it listens on the default ports of flags that its arguments do not set.
 */
export async function busyPortsIn(settings: Setting[], running?: StartSettings): Promise<number[]> {
  const isGiven = isGivenIn((running?.args ?? []).map(({ value }) => value));
  const others = settings.filter(
    ({ in: place, name }) => place !== 'default' || running === undefined || isGiven(name.slice(2)),
  );
  const nothing = { secrets: new Set<string>(), commandNames: new Set<string>() };
  const own = running === undefined ? [] : portsOf(openSettings(running, nothing).read());
  return await busyAmong(portsOf(others).filter((port) => !own.includes(port)));
}

function portsOf(settings: Setting[]): number[] {
  return settings.filter(isAuxiliary).flatMap(({ value }) => portOf(value) ?? []);
}
