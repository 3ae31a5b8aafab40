import { logWords } from '../log-line.ts';

/** What a line of the controller's log says. The rest of it, which each line of a reconcile has, is folded. */
export function LogLine({ line }: { line: string }) {
  const words = logWords(line);
  if (words === undefined) return <code class="logged">{line}</code>;
  const { message, error, level = '' } = words;
  const isBad = /^(?:error|dpanic|panic|fatal)$/.test(level);
  return (
    <details class="logged">
      <summary>
        <span class={isBad ? 'bad' : ''}>{message}</span>
        {error === undefined ? '' : `: ${error}`}
      </summary>
      <code>{line}</code>
    </details>
  );
}
