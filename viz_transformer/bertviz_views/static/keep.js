// bertviz's script asks require.js for its libraries and draws when they have come, once. Here they
// are there already, so this stands for require.js: it keeps the drawing, to be called for each
// set of data. Nothing is waited for, so no drawing comes too early.
const bertviz = { params: null, draw: null };
function requirejs(names, draw) {
  bertviz.draw = draw;
}
