import { useState } from 'preact/hooks';
import { counted } from '../../phrases.ts';
import { missedFacts } from '../../report/fault.ts';
import type { PageFaultChange } from '../protocol.ts';
import { changeFaults, hasKey } from './api.ts';
import { EXAMPLES } from './fault-examples.ts';
import type { ListedFault } from './listed-faults.ts';
import { Title } from './parts.tsx';
import type { Store } from './store.ts';

/** What goes wrong on purpose, and switches for it. A rule that is switched off keeps its place, and can be switched on again. */
export function FaultsPane({ store }: { store: Store }) {
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
  const add = async (): Promise<void> => {
    if (await change({ add: [rule] })) setRule('');
  };
  const flip = async (one: ListedFault): Promise<void> => {
    if (one.id !== undefined && (await change({ clear: [one.id] }))) store.setFaultOff(one);
    if (one.id === undefined) await change({ add: [one.rule] });
  };
  const remove = async (one: ListedFault): Promise<void> => {
    if (one.id === undefined || (await change({ clear: [one.id] }))) store.removeFault(one.key);
  };
  return (
    <>
      <Title>Faults</Title>
      <p class="note">
        Calls, watches and reviews go wrong on purpose, to show what the controller does then.
      </p>
      {hasKey() && <Add rule={rule} setRule={setRule} add={() => void add()} />}
      <p class="bad" role="status">
        {problem}
      </p>
      <ul class="cards faults">
        {store.listedFaults.map((one) => (
          <li key={one.key}>
            <Switch isOn={one.id !== undefined && !one.isOver} label={one.rule} flip={() => void flip(one)} />
            <span class="note">{countText(one)}</span>
            {hasKey() && (
              <button type="button" aria-label={`Remove ${one.rule}`} onClick={() => void remove(one)}>
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function countText(fault: ListedFault): string {
  const { id, isOver, met, seen } = fault;
  const state = id === undefined ? 'off, ' : isOver ? 'over, ' : '';
  const count = seen === 0 ? 'nothing matched yet' : `met ${met} of ${counted(seen, 'matching request')}`;
  return [`${state}${count}`, ...missedFacts(fault)].join(', ');
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
        placeholder="409 update deployments share=50%"
        aria-describedby="rule-help"
        value={rule}
        onInput={({ currentTarget }) => setRule(currentTarget.value)}
      />
      <button type="submit">Add</button>
      <p id="rule-help" class="note">
        What happens (<code>409</code>, <code>503</code>, <code>delay=2s</code>, <code>refuse</code>,{' '}
        <code>cut</code>, <code>drop</code>, <code>crash</code>), the verbs (<code>update</code>,{' '}
        <code>write</code>, <code>review</code>), the resource, and limits (<code>name=web-*</code>,{' '}
        <code>share=50%</code>, <code>count=3</code>, <code>for=10s</code>).
      </p>
      <fieldset class="examples" aria-label="Examples">
        <span class="note">Fill in:</span>
        {EXAMPLES.map(([label, text]) => (
          <button key={label} type="button" title={text} onClick={() => setRule(text)}>
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
