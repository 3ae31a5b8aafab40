import type { FieldChange, UndoStore } from '../../marks/marks.ts';
import { ownerId } from '../../marks/owners.ts';

/** A label has 63 characters: this leaves room for ten digits. */
const MOST_OWNERS = 5;
const TEXT = /^([^-]+)((?:-[0-9a-f]{8})*)$/;

/**
 * Keeps the undo of one field in a label: a short value, and the ids of the owners that the field had (`2-1f2e3d4c`). Kubernetes' controllers
 * copy the annotations of a workload to its ReplicaSets or ControllerRevisions, and never remove them there.
 */
export function inLabel(
  key: string,
  codec: { write(field: FieldChange): string; read(value: string): FieldChange | undefined },
): UndoStore {
  return {
    map: 'labels',
    key,
    write({ fields: [field] }) {
      const { owners = [], ownerIds = [] } = field!;
      const ids = [...ownerIds, ...owners.map(ownerId)].slice(0, MOST_OWNERS);
      return [codec.write(field!), ...ids].join('-');
    },
    read(text) {
      const [, value = '', ids = ''] = TEXT.exec(text) ?? [];
      const field = codec.read(value);
      if (field === undefined) return undefined;
      const ownerIds = ids.split('-').filter((id) => id !== '');
      return { v: 1, fields: [ownerIds.length === 0 ? field : { ...field, ownerIds }] };
    },
  };
}
