import { useState } from 'preact/hooks';
import { type FaultSummary, missedFacts } from '../../report/fault.ts';
import type { PageFaultChange } from '../protocol.ts';
import { changeFaults, hasKey } from './api.ts';
import { EXAMPLES } from './fault-examples.ts';
import { Title } from './parts.tsx';
import type { Store } from './store.ts';

const MOST_OFF = 20;

/** What goes wrong on purpose, and switches for it. A rule that is switched off can be switched on again. */
export function FaultsPane({ store }: { store: Store }) {
  const { faults, switchedOff } = store;
  const [rule, setRule] = useState('');
  const [problem, setProblem] = useState('');
  const change = async (wanted: PageFaultChange): Promise<boolean> => {
    const failed = await changeFaults(wanted).then(
      () => '',
      (error: Error) => error.message,
    );
    setProblem(failed);
    return failed === '';
  };
  const off = async ({ id, rule: text }: FaultSummary): Promise<void> => {
    if (!(await change({ clear: [id] }))) return;
    store.set('switchedOff', [text, ...switchedOff.filter((one) => one !== text)].slice(0, MOST_OFF));
  };
  const on = async (text: string): Promise<void> => {
    if (!(await change({ add: [text] }))) return;
    store.set(
      'switchedOff',
      switchedOff.filter((one) => one !== text),
    );
    setRule('');
  };
  return (
    <>
      <Title>Faults</Title>
      <p class="note">
        Calls, watches and reviews go wrong on purpose, to show what the controller does then.
      </p>
      {hasKey() && <Add rule={rule} setRule={setRule} add={() => void on(rule)} />}
      <p class="bad" role="status">
        {problem}
      </p>
      <ul class="cards faults">
        {faults.map((fault) => (
          <li key={fault.id}>
            <Switch isOn={!fault.isOver} label={fault.rule} flip={() => void off(fault)} />
            <span class="note">
              {fault.isOver ? 'over, ' : ''}met {fault.met} of {fault.seen}
              {missedFacts(fault).map((fact) => `, ${fact}`)}
            </span>
          </li>
        ))}
        {switchedOff.map((text) => (
          <li key={text}>
            <Switch isOn={false} label={text} flip={() => void on(text)} />
            <span class="note">off</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Add({ rule, setRule, add }: { rule: string; setRule(text: string): void; add(): void }) {
  const submit = (event: Event): void => {
    event.preventDefault();
    if (rule.trim() !== '') add();
  };
  return (
    <form class="add-fault" onSubmit={submit}>
      <label for="rule">New fault</label>
      <input
        id="rule"
        autocomplete="off"
        spellcheck={false}
        value={rule}
        onInput={({ currentTarget }) => setRule(currentTarget.value)}
      />
      <button type="submit">Add</button>
      <fieldset class="examples" aria-label="Examples">
        {EXAMPLES.map(([label, text]) => (
          <button key={label} type="button" class="link" title={text} onClick={() => setRule(text)}>
            {label}
          </button>
        ))}
      </fieldset>
    </form>
  );
}

function Switch({ isOn, label, flip }: { isOn: boolean; label: string; flip(): void }) {
  return (
    <button
      type="button"
      class="switch"
      role="switch"
      aria-checked={isOn}
      disabled={!hasKey()}
      onClick={flip}
    >
      <span class="knob" aria-hidden="true" /> <code>{label}</code>
    </button>
  );
}
