// A stand-in for require.js. bertviz's script asks require.js for its libraries, and draws once they
// have arrived. Here they are already loaded, so this stub only stores the drawing function, to be called
// for each set of data. Nothing is waited for, so no drawing comes too early.
const bertviz = { params: null, draw: null };
/** @type {any} */ (globalThis).requirejs = (_names, draw) => {
  bertviz.draw = draw;
};
