export type ChangeAction = 'create' | 'update' | 'delete' | 'restore';

/** A field's value now and after a restore; null stands for absent. */
export interface FieldValues {
  /** `spec.selector` */
  path: string;
  now: unknown;
  after: unknown;
}

/** Who wrote a field, as the API server recorded it in managedFields; the manager is `unknown` if it recorded nothing. */
export interface Writer {
  manager: string;
  /** `Update` or `Apply`. */
  operation: string;
  /** The subresource, if the writer did not write the object as a whole: `scale`. */
  subresource?: string;
  /** When the field was written, as an ISO time. */
  time?: string;
}
