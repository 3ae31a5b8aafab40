/** The part of node-forge that is loaded on its own; the package's types cover only the whole. */
declare module 'node-forge/lib/asn1.js' {
  import { asn1 } from 'node-forge';
  export default asn1;
}
