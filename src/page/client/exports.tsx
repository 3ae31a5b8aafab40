import { useState } from 'preact/hooks';
import type { ExportFormat } from '../protocol.ts';
import { exportReview } from './api.ts';

const LABELS: [ExportFormat, string][] = [
  ['curl', 'Copy as curl'],
  ['go', 'Copy as Go test'],
];

/** Puts the review on the clipboard, in a form that can be used without devloop. */
export function Exports({ id }: { id: string }) {
  const [said, say] = useState('');
  const copy = async (format: ExportFormat): Promise<void> => {
    try {
      const { text, warnings } = await exportReview(id, format);
      await navigator.clipboard.writeText(text);
      say(['Copied.', ...warnings].join(' '));
    } catch (error) {
      say((error as Error).message);
    }
  };
  return (
    <div class="exports">
      {LABELS.map(([format, label]) => (
        <button key={format} type="button" onClick={() => void copy(format)}>
          {label}
        </button>
      ))}
      <span role="status">{said}</span>
    </div>
  );
}
