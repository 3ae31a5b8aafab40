const LEADER_ELECTION =
  /^([ \t]*(?:- )?"?(?:enable)?leader-?elect(?:ion)?(?:-?enabled?)?"?[ \t]*:[ \t]*)"?true"?(?=[ \t]*(?:,|#|\r?$))/gim;

/**
 * A mounted configuration file with leader election off, as component configs write it (`leaderElection: {leaderElect: true}`) or
 * operators of their own; undefined where it is not on. Outside a cluster controller-runtime ends with "unable to find leader
 * election namespace". Text, so that comments and order stay.
 */
export function withoutLeaderElection(text: string): string | undefined {
  const changed = text.replace(LEADER_ELECTION, '$1false');
  return changed === text ? undefined : changed;
}
