/**
 * The API proxy as a process of its own, so that its memory can be measured. With a directory, it records the calls there. Prints how to
 * reach it.
 */
import { openApiProxy } from '../../../src/api-proxy/proxy.ts';
import { CallRecorder } from '../../../src/calls/recorder.ts';
import { connect } from '../../../src/cluster/api/client.ts';
import { loadKubeconfig } from '../../../src/cluster/api/kubeconfig.ts';
import { createRecording } from '../../../src/reviews/recording.ts';

const [kubeconfig, directory] = process.argv.slice(2);
const upstream = await connect(await loadKubeconfig({ kubeconfig }, {}, '/'));
const options = { paths: [], build: () => undefined, signal: new AbortController().signal };
const recorder =
  directory === undefined
    ? undefined
    : new CallRecorder(createRecording(directory, 'calls'), options, () => {});
const { variables, certificate, admit } = await openApiProxy({ upstream, hooks: recorder?.hooks });
const url = `https://${variables.KUBERNETES_SERVICE_HOST}:${variables.KUBERNETES_SERVICE_PORT}`;
console.log(JSON.stringify({ url, ca: certificate, token: admit().token }));
