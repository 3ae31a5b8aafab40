/** What a controller would have done, had it not been a dry run. */
export interface PlannedWrite {
  /** refused: the API server would refuse it. not-sent: it cannot be asked without a change. */
  action: 'create' | 'change' | 'delete' | 'refused' | 'not-sent';
  verb: string;
  /** The plural, with a subresource: `deployments/status`. */
  resource: string;
  group?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  /** Why it is refused or was not sent. */
  message?: string;
  /** The fields that it changes, the first ones only: `~spec.replicas=2`. */
  changes?: string[];
  /** The object as YAML, or how it changes. */
  diff?: string;
  /** It comes after a write of the same object that nothing has stored, so it may be another one in the end. */
  isLater?: true;
}
