/** A way from the cluster to a gateway on this machine. */
export interface Route extends AsyncDisposable {
  readonly name: string;
  /** What the Service's endpoints shall say. */
  readonly address: string;
  /** The port that the cluster has to call to reach this port of the gateway. */
  portFor(gatewayPort: number): number;
}
